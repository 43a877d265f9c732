// Counts the tokens of a Messages request for `count_tokens` (AM61 to AM63).
import { asList, isObject, type Json, type JsonObject } from '../../turn/json/json.ts';
import { tokensOfBytes } from '../../turn/token-estimate.ts';
import type { MessagesRequest } from './request/decode.ts';

const OF_MESSAGE = 4;
const OF_TOOL = 8;
const OF_IMAGE = 1_000;
const LEAST_OF_PDF = 1_000;
const BYTES_PER_PDF_TOKEN = 30;

/** Counts the tokens of texts; undefined if they are not counted in time. */
export type CountTexts = (texts: readonly string[]) => Promise<readonly number[] | undefined>;

export async function tokensOfMessages(
  { body, messages }: Pick<MessagesRequest, 'body' | 'messages'>,
  countTexts: CountTexts,
): Promise<number> {
  const texts: string[] = [];
  const known = OF_MESSAGE * messages + partsOf(body, texts);
  const counts = (await countTexts(texts)) ?? texts.map(estimate);
  return counts.reduce((total, count) => total + count, known);
}

/** The estimated count, if the tokens cannot be counted in time. */
export function estimatedTokens({ body, messages }: Pick<MessagesRequest, 'body' | 'messages'>): number {
  const texts: string[] = [];
  const known = OF_MESSAGE * messages + partsOf(body, texts);
  return texts.map(estimate).reduce((total, count) => total + count, known);
}

/** The estimate for a text that could not be counted in time. */
const estimate = (text: string): number => tokensOfBytes(Buffer.byteLength(text));

/** Collects the texts of a request. @returns the tokens of everything that is not text */
function partsOf({ instructions, input, tools }: JsonObject, texts: string[]): number {
  if (typeof instructions === 'string') texts.push(instructions);
  let known = 0;
  for (const item of asList(input).filter(isObject)) {
    if (item.type === 'function_call') texts.push(String(item.name), String(item.arguments));
    known += ofContent(item.content ?? item.output, texts);
  }
  for (const tool of asList(tools).filter(isObject)) {
    texts.push(textOfTool(tool));
    known += OF_TOOL;
  }
  return known;
}

/** The JSON of a tool, without the members that the translation adds to the client's function. */
function textOfTool(tool: JsonObject): string {
  const { type, strict: _, ...declared } = tool;
  return JSON.stringify(type === 'function' ? declared : tool);
}

function ofContent(content: Json | undefined, texts: string[]): number {
  if (typeof content === 'string') texts.push(content);
  let known = 0;
  for (const part of asList(content).filter(isObject)) {
    if (typeof part.text === 'string') texts.push(part.text);
    else if (part.type === 'input_image') known += OF_IMAGE;
    else if (part.type === 'input_file') known += ofPdf(part.file_data);
  }
  return known;
}

/** @param data a data URL in base64; absent if the file is not in the request */
function ofPdf(data: Json | undefined): number {
  const bytes = typeof data === 'string' ? ((data.length - data.indexOf(',') - 1) * 3) / 4 : 0;
  return Math.max(LEAST_OF_PDF, Math.ceil(bytes / BYTES_PER_PDF_TOKEN));
}
