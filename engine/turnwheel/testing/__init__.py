"""What helps to test with turnwheel: scripted models, virtual time, scenarios and their traces."""
