B
top.4.biasJÁb>¾