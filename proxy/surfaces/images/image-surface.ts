// The surface of images on /v1. It is addressed like the compatible surface, has its own requests and answers, and never streams (D10,
// Q22).
import { surface } from '../../turn/surface.ts';
import { publicSurface } from '../public/public-surface.ts';
import { imageAnswer } from './image-answer.ts';
import { imageRequest } from './image-request.ts';

export const imageSurface = surface({ ...publicSurface, name: 'images', decode: imageRequest, answer: imageAnswer });
