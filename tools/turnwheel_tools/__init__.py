"""What a model may call, and how the arguments of a call are prepared."""

from turnwheel_tools.arguments import ArgumentError, SchemaError, prepare_arguments
from turnwheel_tools.contract import ToolError
from turnwheel_tools.define import checked, define
from turnwheel_tools.read import read_tool

__all__ = ["ArgumentError", "SchemaError", "ToolError", "checked", "define", "prepare_arguments", "read_tool"]
