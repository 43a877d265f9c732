// The models that a turn may name; the catalog of the Pool has `model-a`, and in some cases `model-b`.
import type { Case } from '../dialect/case.ts';

const unknown = { code: 'invalid_model', status: 400, param: 'model' };
const denied = { code: 'model_not_allowed', status: 403, param: 'model' };

export const MODEL_ACCESS: readonly Case[] = [
  { name: '[Q4] a model of the catalog is taken', body: { model: 'model-a' } },
  { name: '[CR1] a model on the list of the key is taken', options: { key: { models: ['x', 'model-a'] } }, body: { model: 'model-a' } },
  { name: '[Q2] a missing model is invalid_model', body: { input: 'hi' }, refusal: unknown },
  { name: '[Q2] a null model is missing', body: { model: null }, refusal: unknown },
  { name: '[Q2] an empty model is missing', body: { model: '' }, refusal: unknown },
  { name: '[Q2] a model that is no string is missing', body: { model: ['model-a'] }, refusal: unknown },
  { name: '[Q2] an unknown model is invalid_model', body: { model: 'model-z' }, refusal: unknown },
  { name: '[Q2] an id is matched as it is spelled', body: { model: 'Model-A' }, refusal: unknown },
  { name: '[Q2] a member of every object is no model', body: { model: 'constructor' }, refusal: unknown },
  {
    name: '[CR1] a model outside the list of the key is denied',
    options: { key: { models: ['model-b'] } },
    body: { model: 'model-a' },
    refusal: denied,
  },
  { name: '[CR1] an empty list denies every model', options: { key: { models: [] } }, body: { model: 'model-a' }, refusal: denied },
  {
    name: '[Q4] a denied model is refused before it is looked up in the catalog',
    options: { key: { models: ['model-a'] } },
    body: { model: 'model-z' },
    refusal: denied,
  },
  {
    name: '[Q4] a missing model is refused before the check of the list',
    options: { key: { models: [] } },
    body: {},
    refusal: unknown,
  },
  {
    name: '[F4.4] the denial of a model comes before the effort policy',
    options: { key: { models: [], reasoning_effort: { allow_up_to: 'low' } } },
    body: { model: 'model-a', reasoning: { effort: 'high' } },
    refusal: denied,
  },
];
