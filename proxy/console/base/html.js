// Templates without a build step: htm makes Preact's elements of tagged templates. Every value is set as text or as a property, never as markup.
import htm from 'htm';
import { h } from 'preact';

/** @typedef {import('preact').ComponentChildren} Children */

/**
 * Characters that one does not see, and that change what is beside them: controls, and those that turn the direction of a text. A label or a
 * path with one would make a sentence of the page say something else. Joiners are part of words and of emoji.
 */
const UNSEEN = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}]/gu;

/** @param {string} text */
const seen = (text) => text.replace(UNSEEN, (one) => `⟨U+${Number(one.codePointAt(0)).toString(16).toUpperCase().padStart(4, '0')}⟩`);

/** @param {unknown} child @returns {unknown} */
const shown = (child) => (typeof child === 'string' ? seen(child) : Array.isArray(child) ? child.map(shown) : child);

/** @param {unknown} type @param {unknown} props @param {readonly unknown[]} children */
const element = (type, props, ...children) =>
  h(/** @type {never} */ (type), /** @type {never} */ (props), .../** @type {never[]} */ (children.map(shown)));

/** @type {(strings: TemplateStringsArray, ...values: readonly unknown[]) => import('preact').VNode} */
export const html = /** @type {never} */ (htm.bind(/** @type {never} */ (element)));
