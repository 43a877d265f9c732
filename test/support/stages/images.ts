// A gateway with a host for images, and the requests of the four image routes.
import { PNG } from '../../../proxy/rehearsal/model/simulated-image.ts';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { FORM_TYPE, formOf, type Part } from '../form.ts';
import { type Draft, type GatewayOptions, type Reply, startGateway, type TestGateway } from '../gateway.ts';
import type { Arrival } from '../rehearsal.ts';

export const GENERATIONS = '/v1/images/generations';
export const EDITS = '/v1/images/edits';
export const NATIVE_GENERATIONS = '/backend-api/agent/images/generations';
export const NATIVE_EDITS = '/backend-api/agent/images/edits';
export const IMAGE_PATHS = [GENERATIONS, EDITS, NATIVE_GENERATIONS, NATIVE_EDITS] as const;

/** A model that no catalog of the rehearsal provider has. */
export const IMAGE_MODEL = 'gpt-image-1';

export const PNG_BYTES = Buffer.from(PNG, 'base64');
export const PNG_URL = `data:image/png;base64,${PNG}`;
export const JPEG_BYTES = Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 16, 74, 70, 73, 70, 0, 1, 1]);
export const WEBP_BYTES = Buffer.from('RIFF\x1a\0\0\0WEBPVP8L\x0d\0\0\0', 'latin1');

export const imagePart = (name: string, value: Buffer = PNG_BYTES, type = 'image/png'): Part => ({ name, value, filename: 'i.png', type });

/** The parts of an edit with one image. */
export const editParts = (...more: readonly Part[]): readonly Part[] => [
  { name: 'model', value: IMAGE_MODEL },
  { name: 'prompt', value: 'a hat' },
  imagePart('image'),
  ...more,
];

export function startImages(options: GatewayOptions = {}): Promise<TestGateway> {
  const config = (draft: Draft): void => {
    draft.pools[0].image_host_model = 'model-a';
    options.config?.(draft);
  };
  return startGateway({ ...options, config });
}

/** A valid request of any of the four routes, as clients send it. */
export function imageRequest(path: string, model = IMAGE_MODEL): { body: Buffer | JsonObject; headers: Record<string, string> } {
  if (path === EDITS) {
    const parts = [{ name: 'model', value: model }, ...editParts().slice(1)];
    return { body: formOf(parts), headers: { 'content-type': FORM_TYPE } };
  }
  const source = path === NATIVE_EDITS ? { images: [{ image_url: PNG_URL }] } : {};
  return { body: { model, prompt: 'a cat', ...source }, headers: { 'content-type': 'application/json' } };
}

export const askImage = (gate: TestGateway, path: string, model?: string): Promise<Reply> => gate.send(path, imageRequest(path, model));

export const sendForm = (gate: TestGateway, path: string, parts: readonly Part[]): Promise<Reply> =>
  gate.send(path, { body: formOf(parts), headers: { 'content-type': FORM_TYPE } });

/** The JSON of the last turn that reached an account. */
// biome-ignore lint/suspicious/noExplicitAny: assertions look where they expect something
export const sent = (gate: TestGateway): any => (gate.upstream.turns().at(-1) as Arrival).json;

/** The status, the code and the place of a refusal. */
export const refusedAt = ({ status, json }: Pick<Reply, 'status' | 'json'>): unknown[] => [status, json.error.code, json.error.param];

/** Options of a gateway with one account. */
export const ONE_ACCOUNT = { upstream: { accounts: ['north'] } } as const;
