// Converts a string input into a single user message.
import { asList, type Json, type JsonObject } from '../../proxy/turn/json/json.ts';

export const userMessage = (text: string): JsonObject => ({
  type: 'message',
  role: 'user',
  content: [{ type: 'input_text', text }],
});

/** The items of an input. Below the checks of inputs only compact bodies can still have a string. */
export const inputItems = (input: Json | undefined): readonly Json[] => (typeof input === 'string' ? [userMessage(input)] : asList(input));
