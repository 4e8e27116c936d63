Bstage_1.1.bn_1.biasJ$LΩn2zΩ{
æ¨â=aVΩ∫tü=