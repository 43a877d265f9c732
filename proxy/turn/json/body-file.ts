// A file of a multipart form inside a Body: JSON like everything else that rules see.
import { isObject, type Json, type JsonObject } from './json.ts';

/** Its part's name is the name of its member; several parts of one name are a list. */
export interface BodyFile extends JsonObject {
  readonly type: 'form_file';
  /** Undefined if the client stated none. */
  readonly filename: string | undefined;
  /** The media type that the client stated. */
  readonly media_type: string;
  /** Base64. */
  readonly data: string;
}

/** A client's own JSON may have this shape too: only bodies of forms may be asked. */
export const isBodyFile = (value: Json | undefined): value is BodyFile => isObject(value) && value.type === 'form_file';
