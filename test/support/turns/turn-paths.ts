// Makes a minimal turn for any path, in the form that the path takes.
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { turnBody } from '../rehearsal-replies.ts';

export const CHAT = '/v1/chat/completions';
export const CHAT_ALIAS = '/backend-api/agent/v1/chat/completions';

export const isChat = (path: string): boolean => path.endsWith('/chat/completions');

/** Whether clients of the path get errors and models only in the words of the error table and the catalog (Q3, Q15). */
export const isCompatible = (path: string): boolean => path.startsWith('/v1/') || isChat(path);

/** @param changes members that have the same name in all forms */
export function turnOn(path: string, said: string, changes: JsonObject = {}): JsonObject {
  return isChat(path)
    ? { model: 'model-a', stream: true, messages: [{ role: 'user', content: said }], ...changes }
    : turnBody(said, changes);
}
