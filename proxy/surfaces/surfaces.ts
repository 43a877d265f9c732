// The surfaces by name.
import type { Surfaces } from '../turn/surface.ts';
import { chatSurface } from './chat/chat-surface.ts';
import { imageSurface } from './images/image-surface.ts';
import { messagesSurface } from './messages/messages-surface.ts';
import { nativeSurface } from './native/native-surface.ts';
import { publicSurface } from './public/public-surface.ts';

export const SURFACES: Surfaces = {
  native: nativeSurface,
  public: publicSurface,
  chat: chatSurface,
  images: imageSurface,
  messages: messagesSurface,
};
