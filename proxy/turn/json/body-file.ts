// A file of a multipart form as a member of a Body. Rules see it as JSON.
import { isObject, type Json, type JsonObject } from './json.ts';

/** The name of the form's part is the name of the member. Several parts with one name are a list. */
export interface BodyFile extends JsonObject {
  readonly type: 'form_file';
  /** Undefined if the client stated none. */
  readonly filename: string | undefined;
  /** The media type that the client stated. */
  readonly media_type: string;
  /** Base64. */
  readonly data: string;
}

/** Whether a member is a file of a form. Ask only for bodies of forms, because a client's own JSON may have this shape too. */
export const isBodyFile = (value: Json | undefined): value is BodyFile => isObject(value) && value.type === 'form_file';
