// Finds the fault script of a request: in `metadata.rehearse`, or in a line `rehearse: SCRIPT` of its last message or tool output, even if
// an agent adds instructions after it. The line also reaches accounts that get no metadata. In the output of a client's tool, it makes an
// account fail in the middle of a tool loop.
import { asList, asString, isObject, type Json, type JsonObject } from '../../turn/json/json.ts';

export function scriptIn({ metadata, input, messages }: JsonObject): string | undefined {
  const named = isObject(metadata) ? asString(metadata.rehearse) : undefined;
  if (named !== undefined) return named;
  const last = typeof input === 'string' ? input : asList(messages ?? input).findLast((item) => !isInstruction(item));
  const text = typeof last === 'string' ? last : isObject(last) ? textOf(last.content ?? last.output) : '';
  return /^\s*rehearse: (.+)$/m.exec(text)?.[1];
}

const isInstruction = (item: Json): boolean => isObject(item) && (item.role === 'developer' || item.role === 'system');

function textOf(content: Json | undefined): string {
  if (typeof content === 'string') return content;
  return asList(content)
    .flatMap((part) => (isObject(part) ? (asString(part.text) ?? []) : []))
    .join('\n');
}
