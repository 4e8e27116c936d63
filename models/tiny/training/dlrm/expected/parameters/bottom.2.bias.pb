
Bbottom.2.biasJ(rºD;b»Œ3=1íŠ½¨J½8™â½–‡E=$Û ½´Y"¾—’>