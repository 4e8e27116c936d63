	Bup_2.conv_1.biasJ$ o:½WD<
ž=JèÎ»ÈÏF¼÷!—<fÓO=4¢´;¬gf½