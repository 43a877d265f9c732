// Checks that the metadata of a new file can be stored and sent to an account (C1, Q21).
import { invalidRequest } from '../../proxy/turn/errors/invalid-request.ts';
import { isAbsent, isText, type Json } from '../../proxy/turn/json/json.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';

/** The longest name. File systems allow at most 255 bytes. */
const LONGEST_NAME = 1_024;

/** A word of the public API or of a client's own. Anything else would put a client's text into a list (S4). */
const PURPOSE = /^[\w.-]{1,64}$/;

export const fileMetadata = rule({
  name: 'file-metadata',
  routes: ['file-create'],
  request({ body }) {
    const { file_name, file_size, use_case } = body;
    if (!isFileName(file_name)) throw invalidRequest('file_name', `must be a name of at most ${LONGEST_NAME} characters`);
    if (typeof file_size !== 'number' || !Number.isSafeInteger(file_size) || file_size < 0) {
      throw invalidRequest('file_size', 'must be the size of the file in bytes');
    }
    if (!isAbsent(use_case) && !isPurpose(use_case)) throw invalidRequest('use_case', 'must be one word');
  },
});

export const isFileName = (value: Json | undefined): value is string => isText(value) && value.length <= LONGEST_NAME;

export const isPurpose = (value: Json | undefined): value is string => typeof value === 'string' && PURPOSE.test(value);
