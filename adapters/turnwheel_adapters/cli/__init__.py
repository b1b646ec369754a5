"""The command `turnwheel`: one module for each of its commands."""
