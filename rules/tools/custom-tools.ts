// Checks that custom tools have only the fields of the contract (F5.2, Q16).
import { invalidRequest, unknownMember } from '../../proxy/turn/errors/invalid-request.ts';
import { grammarFault } from '../../proxy/turn/json/grammar-fault.ts';
import { isList, isObject, isText, type Json, type JsonObject } from '../../proxy/turn/json/json.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import { PUBLIC_RESPONSES } from '../route-groups.ts';
import { declaredTools } from './declared-tools.ts';

/** Not on native routes, which refuse only remote MCP tools, over websockets too (Q16). */
export const customTools = rule({
  name: 'custom-tools',
  routes: PUBLIC_RESPONSES,
  request({ body }) {
    for (const declared of declaredTools(body)) {
      const { tool } = declared;
      if (!isObject(tool) || tool.type !== 'custom') continue;
      const fault = customToolFault(tool);
      if (fault !== undefined) throw invalidRequest(declared.path + fault, 'is not what a custom tool may have there');
    }
  },
});

/** The path below the tool at which its shape is wrong; undefined if it is right. */
function customToolFault(tool: JsonObject): string | undefined {
  if (!isText(tool.name)) return '.name';
  for (const [member, value] of Object.entries(tool)) {
    const fault = memberFault(member, value);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function memberFault(member: string, value: Json | undefined): string | undefined {
  switch (member) {
    case 'type':
    case 'name':
      return undefined;
    case 'description':
      return typeof value === 'string' ? undefined : '.description';
    case 'defer_loading':
      return typeof value === 'boolean' ? undefined : '.defer_loading';
    case 'allowed_callers':
      return value === null || (isList(value) && value.every(isCaller)) ? undefined : '.allowed_callers';
    case 'format':
      return formatFault(value);
    default:
      return unknownMember(member);
  }
}

const isCaller = (value: Json): boolean => value === 'direct' || value === 'programmatic';

/** The fault of a format: it must be unconstrained text, or a lark or regex grammar. */
function formatFault(format: Json | undefined): string | undefined {
  if (!isObject(format)) return '.format';
  const { type } = format;
  if (type !== 'text' && type !== 'grammar') return '.format.type';
  const fault = type === 'grammar' ? grammarFault(format) : undefined;
  if (fault !== undefined) return `.format${fault}`;
  const members = type === 'text' ? TEXT_MEMBERS : GRAMMAR_MEMBERS;
  const unknown = Object.keys(format).find((member) => !members.has(member));
  return unknown === undefined ? undefined : `.format${unknownMember(unknown)}`;
}

const TEXT_MEMBERS: ReadonlySet<string> = new Set(['type']);
const GRAMMAR_MEMBERS: ReadonlySet<string> = new Set(['type', 'syntax', 'definition']);
