B layers.0.attention.out_proj.biasJ`}‘·=6Ñ­¼t
=R˜½e>i<,þ¾v9ú=wª,>â¥›<‘à;3º=Òä‘½CE<õA<–8="L¼½H÷D½›‹™;:¤º½Q<J½)µ£½Ü–Å<ãô/=t/‚¼