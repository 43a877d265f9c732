// Declared tools and tool choices over the wire: which ones are allowed, and that no others are dispatched.
import { TOOL_CHOICE } from '../../rules/tools/tool-choice.cases.ts';
import { CUSTOM_TOOLS, NATIVE_TOOLS, REMOTE_MCP, TOOL_NAMES, TOOL_TYPES, WEB_SEARCH } from '../../rules/tools/tool-shapes.cases.ts';
import { fromTools } from '../../support/wire/case.ts';
import { testTable } from '../../support/wire/table.ts';

testTable('[F1.3] remote MCP tools are refused on every surface', fromTools(REMOTE_MCP));
testTable('[F5.2] native routes refuse remote MCP alone', fromTools(NATIVE_TOOLS));
testTable('[F5.2] the public surface takes a closed list of tool types', fromTools(TOOL_TYPES));
testTable('[Q16] the preview and dated names of web_search are accepted as web_search', fromTools(WEB_SEARCH));
testTable('[F5.2] custom tools have exactly the fields of the contract', fromTools(CUSTOM_TOOLS));
testTable('[F5.2] executable names are unique', fromTools(TOOL_NAMES));
testTable('[F5.3] a tool_choice resolves to something declared', fromTools(TOOL_CHOICE));
