Bstage_1.0.bn_2.biasJ%d
¼Œ@½£K;¼‰û<-Þp;Ã<ž<