// Whether a text looks like the path of a file, as opposed to prose, a time or an address.

const LONGEST_PATH = 1_024;
const FILES_WITHOUT_EXTENSION = /^(?:Makefile|Dockerfile|LICENSE|README|Gemfile|Rakefile|Procfile)$/;
const EXTENSION = /\w\.[A-Za-z]\w{0,9}$/;

export function isPathLike(text: string): boolean {
  if (text.length === 0 || text.length > LONGEST_PATH || /[\s"<>|*?]|:\/\//.test(text)) return false;
  if (/[/\\]/.test(text)) return /\w/.test(text) && !/[/\\.:]$/.test(text);
  return EXTENSION.test(text) || FILES_WITHOUT_EXTENSION.test(text) || /^\.\w[\w.-]*$/.test(text);
}
