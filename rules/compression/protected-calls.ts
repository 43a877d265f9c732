// The calls whose output is sent byte for byte (F7.4).
import { isList, isObject, isText, type Json, type JsonObject } from '../../proxy/turn/json/json.ts';
import { argumentsReadFile, readsFile } from './file-reads.ts';

const PROTECTED_TOOLS: ReadonlySet<string> = new Set([
  'Read',
  'Glob',
  'Grep',
  'Write',
  'Edit',
  'WebSearch',
  'WebFetch',
  'web_search',
  'web_fetch',
]);

/** Words in the name or namespace of tools that retrieve from outside: the web, or a remote MCP server. */
const RETRIEVAL_WORDS: ReadonlySet<string> = new Set([
  ...['browse', 'browser', 'crawl', 'fetch', 'mcp', 'retrieval', 'retrieve', 'scrape', 'url', 'web', 'webfetch', 'websearch'],
]);

/** Members of a call's arguments that hold one command, at any depth: a line or a list of words. */
const COMMAND_MEMBERS: ReadonlySet<string> = new Set(['cmd', 'command', 'script', 'chars']);
/** The member that holds a list of command lines. */
const COMMANDS_MEMBER = 'commands';
const MOST_ARGUMENT_CHARACTERS = 65_536;
const READER_WORD = /\b(?:cat|nl|head|tail|sed)\b/;

/** @param call the call that the output answers; without it the name of the tool is not known */
export function isProtected(call: JsonObject | undefined): boolean {
  switch (call?.type) {
    case 'function_call':
      return isProtectedName(call) || functionReadsFile(call.arguments);
    case 'custom_tool_call':
      return isProtectedName(call) || textReadsFile(call.input);
    case 'local_shell_call':
    case 'shell_call':
      return !isObject(call.action) || !hasCommand(call.action) || argumentsHoldRead(call.action);
    default:
      return true;
  }
}

/** The number of characters that the check of a call reads. */
export function lengthOfCall(call: JsonObject | undefined): number {
  const text = call?.arguments ?? call?.input;
  return typeof text === 'string' ? text.length : 0;
}

function isProtectedName({ name, namespace }: JsonObject): boolean {
  if (!isText(name) || PROTECTED_TOOLS.has(name)) return true;
  return [name, namespace].some((text) => isText(text) && wordsOf(text).some((word) => RETRIEVAL_WORDS.has(word)));
}

/** The words of a name in lower case: `WebFetch`, `web_fetch` and `mcp__server__fetch`. */
const wordsOf = (name: string): readonly string[] =>
  name
    .replace(/([a-z\d])(?=[A-Z])/g, '$1 ')
    .toLowerCase()
    .split(/[^a-z\d]+/);

/** Whether the arguments may read a file. Arguments that cannot be parsed may hold any command. */
function functionReadsFile(json: Json | undefined): boolean {
  if (typeof json !== 'string' || json.length > MOST_ARGUMENT_CHARACTERS) return true;
  if (json.trim() === '') return false;
  try {
    return argumentsHoldRead(JSON.parse(json) as Json);
  } catch {
    return true;
  }
}

function argumentsHoldRead(value: Json): boolean {
  if (isList(value)) return value.some(argumentsHoldRead);
  if (!isObject(value)) return false;
  return Object.entries(value).some(([member, inner]) => {
    if (inner === undefined) return false;
    if (COMMAND_MEMBERS.has(member) && commandReadsFile(inner)) return true;
    if (member === COMMANDS_MEMBER && (!isList(inner) || inner.some(commandReadsFile))) return true;
    return argumentsHoldRead(inner);
  });
}

const hasCommand = (action: JsonObject): boolean => action.command !== undefined || action[COMMANDS_MEMBER] !== undefined;

/** Whether a command may read a file. A value that is neither a line nor a list of words could be any command. */
function commandReadsFile(command: Json): boolean {
  if (typeof command === 'string') return readsFile(command);
  if (!isList(command)) return true;
  const words = command.filter((word) => typeof word === 'string');
  if (words.length < command.length) return true;
  return words.length === 1 ? readsFile(words[0] ?? '') : argumentsReadFile(words);
}

/** Whether free text may read a file: it may be a command line, or a program in another language that runs one. */
const textReadsFile = (input: Json | undefined): boolean => typeof input !== 'string' || READER_WORD.test(input);
