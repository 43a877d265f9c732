// Which kinds of requests an API account answers, by its `serves` and `compact` (AA13, AA18).
import type { ApiAccountConfig } from '../../../turn/provider/api-account.ts';
import type { RouteKind } from '../../../turn/routes/kinds.ts';

type Serves = (account: ApiAccountConfig) => boolean;

const turns: Serves = ({ serves }) => serves.includes('turns');
const nothing: Serves = () => false;

export const servesCompaction: Serves = ({ serves, compact }) => serves.includes('compact') && compact !== 'none';

/** Whether the account makes images on its paths of the Images API. */
const drawsImages: Serves = ({ api, serves }) => api === 'responses' && serves.includes('images');

/** Whether the account can make images. On /v1, a turn that must use the image tool gives the same answer as those paths (Q22). */
const makesImages: Serves = (account) =>
  drawsImages(account) || (account.api === 'responses' && turns(account) && account.hosted_tools.includes('image_generation'));

const transcribes: Serves = ({ serves }) => serves.includes('transcriptions');

/** The kinds that API accounts can serve. Other kinds go only to accounts of agent backends. */
const SERVES: Partial<Readonly<Record<RouteKind, Serves>>> = {
  responses: turns,
  'public-responses': turns,
  chat: turns,
  messages: turns,
  compact: servesCompaction,
  'public-compact': servesCompaction,
  image: drawsImages,
  'public-image': makesImages,
  'public-image-edit': makesImages,
  transcribe: transcribes,
  'public-transcription': transcribes,
  embeddings: ({ serves }) => serves.includes('embeddings'),
  'public-file-create': ({ api, serves }) => api === 'responses' && serves.includes('files'),
};

/**
 * Whether the account gets a translated image request on its path of the Images API. The turn's needs of a model then do not matter (AA35).
 */
export const drawsKind = (kind: RouteKind, account: ApiAccountConfig): boolean =>
  (kind === 'public-image' || kind === 'public-image-edit') && drawsImages(account);

export const servesKind = (kind: RouteKind, account: ApiAccountConfig): boolean => (SERVES[kind] ?? nothing)(account);
