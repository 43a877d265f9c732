// Converts a string input into a single user message.
import type { JsonObject } from '../../proxy/turn/json/json.ts';

export const userMessage = (text: string): JsonObject => ({
  type: 'message',
  role: 'user',
  content: [{ type: 'input_text', text }],
});
