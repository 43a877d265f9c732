// The image routes of a simulated platform, and the checks of their requests as JSON and as forms.
import type { JsonObject } from '../../turn/json/json.ts';
import type { SimulatedAnswer } from '../delivery/answer.ts';
import { nativeImageAnswer } from '../model/simulated-image.ts';
import { formOf } from '../received-form.ts';
import type { ReceivedRequest } from '../received-request.ts';
import { missingParameter, objectBody, unknownParameter } from '../request-refusals.ts';
import { FLAG, type JsonSchema, list, object, RequestSchema, TEXT, textOfAtMost, words } from './request-schema.ts';

const PROMPT = textOfAtMost(32_000);

const COMMON: JsonSchema = {
  model: TEXT,
  prompt: PROMPT,
  n: { type: 'integer', minimum: 1, maximum: 10 },
  size: TEXT,
  quality: words('auto', 'low', 'medium', 'high', 'standard', 'hd'),
  background: words('auto', 'transparent', 'opaque'),
  moderation: words('auto', 'low'),
  output_format: words('png', 'jpeg', 'webp'),
  output_compression: { type: 'integer', minimum: 0, maximum: 100 },
  partial_images: { type: 'integer', minimum: 0, maximum: 3 },
  stream: FLAG,
  user: TEXT,
};

const source = object({ image_url: TEXT, file_id: TEXT });

const SCHEMAS = {
  generations: new RequestSchema(object(COMMON, ['prompt'])),
  edits: new RequestSchema(
    object({ ...COMMON, images: list(source, { minItems: 1, maxItems: 16 }), mask: source, input_fidelity: words('low', 'high') }, [
      'prompt',
      'images',
    ]),
  ),
};

/** @param now Unix milliseconds @throws SimulatedError */
export async function imageAnswer(request: ReceivedRequest, route: 'generations' | 'edits', now: number): Promise<SimulatedAnswer> {
  const isForm = request.headers['content-type']?.startsWith('multipart/form-data') === true;
  const body = objectBody(isForm && route === 'edits' ? checkedForm(await formOf(request)) : request.json);
  if (!isForm) SCHEMAS[route].check(body);
  return nativeImageAnswer(body, route, Math.floor(now / 1000));
}

/** The members of an edit whose images were sent as files. */
function checkedForm(form: FormData): JsonObject {
  const images = [...form.getAll('image'), ...form.getAll('image[]')];
  if (images.length === 0 || !images.every((image) => image instanceof File)) throw missingParameter('image');
  const known = new Set(['image', 'image[]', 'mask', 'input_fidelity', ...Object.keys(COMMON)]);
  for (const name of form.keys()) {
    if (!known.has(name)) throw unknownParameter(name);
  }
  const prompt = form.get('prompt');
  if (typeof prompt !== 'string') throw missingParameter('prompt');
  const text = (name: string): JsonObject => {
    const value = form.get(name);
    return typeof value === 'string' ? { [name]: value } : {};
  };
  return { prompt, images: ['file'], stream: form.get('stream') === 'true', ...text('size'), ...text('quality'), ...text('output_format') };
}
