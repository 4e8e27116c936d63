Blayers.1.proj.biasJP ¼É•0º¹É^<Çz<N‘½T†J½>
¼x½„4½¬âëº…®»ÿ.½	¯i<Hî½ŒN¼Sj‰=y|ë<&f=ğJ=Fos=