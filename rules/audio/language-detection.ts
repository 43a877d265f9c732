// Removes the detected language from transcripts of the compatible surface (D11, Q23).
import { isList, isObject, type Json, type JsonObject } from '../../proxy/turn/json/json.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';

const DETECTION: ReadonlySet<string> = new Set(['language', 'languages', 'detected_language', 'language_probability']);

export const languageDetection = rule({
  name: 'language-detection',
  routes: ['public-transcription'],
  answer: (transcript) => ({ ...withoutDetection(transcript), ...segmentsOf(transcript) }),
});

const withoutDetection = (object: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([member]) => !DETECTION.has(member)));

/** Removes the language from the segments of a detailed transcript, which may have one each. */
function segmentsOf({ segments }: JsonObject): JsonObject {
  return isList(segments) ? { segments: segments.map((segment: Json) => (isObject(segment) ? withoutDetection(segment) : segment)) } : {};
}
