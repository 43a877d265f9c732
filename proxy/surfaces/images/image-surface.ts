// The surface of images on /v1: addressed like the compatible surface, and never streamed; errors name the members of the Images API (Q22).
import { inClientWords } from '../../turn/errors/error-words.ts';
import type { Surface } from '../../turn/surface.ts';
import { publicSurface } from '../public/public-surface.ts';
import { imageParam } from './image-params.ts';

export const imageSurface: Surface = {
  ...publicSurface,
  name: 'images',

  refusalOf: (failure, options, known) =>
    publicSurface.refusalOf({ ...failure, error: inClientWords(failure.error, imageParam) }, options, known),
};
