B layers.0.attention.out_proj.biasJ`³Ñt=ïˆÌ=ê"X¼ap¬=x½!´r=¦mŠ½ 2=ˆj˜<û˜”=÷IÇ½$
	>ıË¸=&¡=×9=îYU½³Še<Ç†¶½[á<Äø•=ıy½¨+=½İ	‡½İW€¼