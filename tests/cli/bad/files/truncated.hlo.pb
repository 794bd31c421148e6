

cut off
mai