"""What a model may call, and how the arguments of a call are prepared."""

from turnwheel_tools.arguments import ArgumentError, SchemaError, prepare_arguments
from turnwheel_tools.contract import Run, ToolError
from turnwheel_tools.read import read_tool

__all__ = ["ArgumentError", "Run", "SchemaError", "ToolError", "prepare_arguments", "read_tool"]
