// Checks the Pool's image permission before the body of an image request is read (F6.1, A9, AU5, PL1).
import { Refusal } from '../../proxy/turn/errors/refusal.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import { IMAGES } from '../route-groups.ts';

export const imagePermission = rule({
  name: 'image-permission',
  routes: IMAGES,
  admit(turn) {
    if (!turn.pool.allow_image_generation) throw new Refusal('image_generation_disabled');
  },
  explain: ({ pool }) => (pool.allow_image_generation ? 'allows image requests' : 'refuses image requests: 403'),
});
