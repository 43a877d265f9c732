// The path of Messages, and a minimal request for it.
import type { JsonObject } from '../../../proxy/turn/json/json.ts';

export const MESSAGES = '/v1/messages';

export const messagesBody = (members: JsonObject = {}): JsonObject => ({
  model: 'model-a',
  max_tokens: 1_000,
  messages: [{ role: 'user', content: 'hi' }],
  ...members,
});
