// Files that a turn names exist in its Pool, and at one account, which the turn then goes to (Q10, D6).

import type { Json, JsonObject } from '../../proxy/turn/json.ts';
import { isList, isObject } from '../../proxy/turn/json.ts';
import { surfaceOf } from '../../proxy/turn/kinds.ts';
import { Refusal } from '../../proxy/turn/refusal.ts';
import { rule } from '../../proxy/turn/rule.ts';
import type { Body, FileView, Turn } from '../../proxy/turn/turn.ts';
import { TURNS } from '../route-groups.ts';

interface NamedFile {
  readonly id: string;
  /** The path of the member that names it. */
  readonly path: string;
}

/** Runs before rules that remove items, so that a refusal names the path that the client wrote. */
export const fileInputs = rule({
  name: 'file-inputs',
  routes: TURNS,
  request({ body }, turn) {
    const named = filesNamedIn(body, surfaceOf(turn.route.kind) === 'chat' ? 'messages' : 'input');
    return named.length === 0 ? undefined : checkOwners(named, turn);
  },
});

/** One after the other: a request with a thousand unknown ids costs one look-up. */
async function checkOwners(named: readonly NamedFile[], turn: Turn): Promise<void> {
  for (const { id, path } of named) {
    const finding = turn.findFile(id);
    const file: FileView | undefined = finding instanceof Promise ? await finding : finding;
    if (!file) throw new Refusal('file_not_found', { param: path });
    if (turn.fileOwner !== undefined && turn.fileOwner !== file.account) throw new Refusal('file_conflict', { param: path });
    turn.fileOwner = file.account;
  }
}

function filesNamedIn(body: Body, member: string): readonly NamedFile[] {
  const found: NamedFile[] = [];
  collect(body[member], member, found);
  if (isList(body.tools)) body.tools.forEach((tool, i) => void collectMask(tool, `tools.${i}`, found));
  return found;
}

/** Parts that name a file by a `file_id` of their own. Other members of that name, such as those of citations, are no inputs. */
const FILE_PARTS: ReadonlySet<Json | undefined> = new Set(['input_file', 'input_image', 'computer_screenshot']);

/** Items and messages have parts in `content`, tool outputs in `output`, at any depth. Texts are not looked into. */
function collect(value: Json | undefined, path: string, found: NamedFile[]): void {
  if (isList(value)) {
    for (let i = 0; i < value.length; i++) {
      const item = value[i];
      if (typeof item === 'object' && item !== null) collect(item, `${path}.${i}`, found);
    }
  } else if (isObject(value)) collectPart(value, path, found);
}

function collectPart(part: JsonObject, path: string, found: NamedFile[]): void {
  if (FILE_PARTS.has(part.type)) add(part, path, found);
  else if (part.type === 'file' && isObject(part.file)) add(part.file, `${path}.file`, found);
  if (typeof part.content === 'object') collect(part.content, `${path}.content`, found);
  if (typeof part.output === 'object') collect(part.output, `${path}.output`, found);
}

/** The mask of an image generation tool is an input too. */
function collectMask(tool: Json, path: string, found: NamedFile[]): void {
  if (isObject(tool) && isObject(tool.input_image_mask)) add(tool.input_image_mask, `${path}.input_image_mask`, found);
}

function add({ file_id: id }: JsonObject, path: string, found: NamedFile[]): void {
  if (typeof id === 'string') found.push({ id, path: `${path}.file_id` });
}
