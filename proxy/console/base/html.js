// Templates without a build step: htm makes Preact's elements of tagged templates. Every value is set as text or as a property, never as markup.
import htm from 'htm';
import { h } from 'preact';

/** @typedef {import('preact').ComponentChildren} Children */

/** @type {(strings: TemplateStringsArray, ...values: readonly unknown[]) => import('preact').VNode} */
export const html = /** @type {never} */ (htm.bind(/** @type {never} */ (h)));
