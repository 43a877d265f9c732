// Templates without a build step. htm makes elements of Preact from tagged templates. Every value is set as text or as a property, never as
// markup.
import htm from 'htm';
import { h } from 'preact';

/** @typedef {import('preact').ComponentChildren} Children */

/**
 * Invisible characters that change what is next to them: controls, and characters that change the direction of text. A label or a path with
 * one could change the meaning of a sentence on the page. Joiners are not among them, because words and emoji need them.
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
