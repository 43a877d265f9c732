// Who is signed in, and what they may do here.
import { signal } from '@preact/signals';
import { ApiError, ask } from './api.js';

/** @typedef {{ operator: string | null, whole: boolean, pools: string[], owns: string[], accounts: string[], edits: { off: string | null } }} Session */

/** Undefined before the gateway has answered, null if a sign-in is required. */
export const session = signal(/** @type {Session | null | undefined} */ (undefined));

export async function readSession() {
  try {
    session.value = await ask('/api/session');
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) session.value = null;
    else throw error;
  }
}

/** @param {string} token */
export async function signIn(token) {
  await ask('/api/session', { method: 'POST', token });
  await readSession();
}

export async function signOut() {
  await ask('/api/session', { method: 'DELETE' });
  session.value = null;
}
