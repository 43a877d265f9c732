// Checks that the files that a request names exist in its Pool and at a single account, and pins the request to that account (Q10, D6).
import { Refusal } from '../../proxy/turn/errors/refusal.ts';
import { isList, isObject, type Json, type JsonObject } from '../../proxy/turn/json/json.ts';
import type { RouteKind } from '../../proxy/turn/routes/kinds.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import type { Body, FileView, Turn } from '../../proxy/turn/turn.ts';
import { NATIVE_IMAGES, TURNS } from '../route-groups.ts';
import { toolLists } from '../tools/declared-tools.ts';

interface NamedFile {
  readonly id: string;
  /** The path of the member that names the file. */
  readonly path: string;
}

/** Runs before rules that remove items, so that a refusal names the path that the client wrote. */
export const fileInputs = rule({
  name: 'file-inputs',
  routes: [...TURNS, ...NATIVE_IMAGES],
  request({ body }, turn) {
    const named = filesNamedIn(body, turn.route.kind);
    return named.length === 0 ? undefined : checkOwners(named, turn);
  },
});

/** Looks files up one after another, so that a request with a thousand unknown ids costs one look-up. */
async function checkOwners(named: readonly NamedFile[], turn: Turn): Promise<void> {
  for (const { id, path } of named) {
    const finding = turn.findFile(id);
    const file: FileView | undefined = finding instanceof Promise ? await finding : finding;
    if (!file) throw new Refusal('file_not_found', { param: path });
    if (turn.fileOwner !== undefined && turn.fileOwner !== file.account) throw new Refusal('file_conflict', { param: path });
    turn.fileOwner = file.account;
  }
}

function filesNamedIn(body: Body, kind: RouteKind | undefined): readonly NamedFile[] {
  const found: NamedFile[] = [];
  if (kind !== undefined && NATIVE_IMAGES.includes(kind)) {
    for (const member of ['image', 'images', 'mask']) collectImages(body[member], member, found);
    return found;
  }
  collect(body.input, ['input'], found);
  if (isObject(body.prompt)) collectVariables(body.prompt.variables, found);
  for (const { path, tools } of toolLists(body)) tools.forEach((tool, i) => void collectTool(tool, `${path}.${i}`, found));
  return found;
}

/** Parts that name a file by a `file_id` of their own. Other members of that name, such as those of citations, are not inputs. */
const FILE_PARTS: ReadonlySet<Json | undefined> = new Set(['input_file', 'input_image', 'computer_screenshot']);

/**
 * The member names and indexes on the way to a value. They are joined to a path only if a file is found, because an input may have many
 * parts and no file.
 */
type Way = (string | number)[];

/**
 * Collects the files that a value names. Items and messages have parts in `content`, tool outputs in `output`, at any depth. Texts are not
 * searched.
 */
function collect(value: Json | undefined, way: Way, found: NamedFile[]): void {
  if (isList(value)) {
    const depth = way.length;
    for (let i = 0; i < value.length; i++) {
      const item = value[i];
      if (typeof item !== 'object' || item === null) continue;
      way[depth] = i;
      collect(item, way, found);
    }
    way.length = depth;
  } else if (isObject(value)) collectPart(value, way, found);
}

function collectPart(part: JsonObject, way: Way, found: NamedFile[]): void {
  if (FILE_PARTS.has(part.type)) add(part, way.join('.'), found);
  for (const name of PART_LISTS) {
    if (typeof part[name] !== 'object') continue;
    way.push(name);
    collect(part[name], way, found);
    way.pop();
  }
}

const PART_LISTS = ['content', 'output'] as const;

/** Collects the files of a tool: the mask of an image generation tool, and the files of a container. */
function collectTool(tool: Json, path: string, found: NamedFile[]): void {
  if (!isObject(tool)) return;
  const { input_image_mask: mask, container } = tool;
  if (isObject(mask)) add(mask, `${path}.input_image_mask`, found);
  if (!isObject(container) || !isList(container.file_ids)) return;
  container.file_ids.forEach((id, i) => {
    if (typeof id === 'string') found.push({ id, path: `${path}.container.file_ids.${i}` });
  });
}

/** Collects the files of a stored prompt's variables, which can be parts. */
function collectVariables(variables: Json | undefined, found: NamedFile[]): void {
  if (!isObject(variables)) return;
  for (const [name, value] of Object.entries(variables)) if (isObject(value)) collectPart(value, ['prompt', 'variables', name], found);
}

/** Collects the images of an image request that is passed on unchanged: one or a list. */
function collectImages(value: Json | undefined, path: string, found: NamedFile[]): void {
  if (isList(value)) value.forEach((one, i) => void collectImages(one, `${path}.${i}`, found));
  else if (isObject(value)) add(value, path, found);
}

function add({ file_id: id }: JsonObject, path: string, found: NamedFile[]): void {
  if (typeof id === 'string') found.push({ id, path: `${path}.file_id` });
}
