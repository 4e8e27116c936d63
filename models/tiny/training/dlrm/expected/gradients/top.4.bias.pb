B
top.4.biasJ²"P<