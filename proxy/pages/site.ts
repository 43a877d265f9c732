// A site for browsers: one page, and the modules and style sheets that it names by their hashed addresses.
import { fileURLToPath } from 'node:url';
import { type Page, sitePage } from './page.ts';
import { type StaticFile, staticFile } from './static-files.ts';

export interface SiteParts {
  readonly title: string;
  /** Id of the element that the first module fills. */
  readonly root: string;
  /** What a browser without scripts shows. */
  readonly noscript: string;
  /** The content of the root until the scripts have run, so that the first paint waits for no module. */
  readonly first?: string;
  /** Own modules and style sheets, by their names below `proxy/console/`. */
  readonly own: readonly string[];
  /** The files of packages, by the names with which modules import them. */
  readonly packages: Readonly<Record<string, string>>;
  /** For a package whose file is a script: the variable that the script defines, by the name of the package. */
  readonly scripts?: Readonly<Record<string, string>>;
  /** The files of packages that are style sheets, by name. */
  readonly packageStyles?: Readonly<Record<string, string>>;
  /** The module of the site that runs first. */
  readonly main: string;
  /** Whether the first paint needs this module. */
  readonly isFirst: (name: string) => boolean;
  /** The address of a file. */
  readonly addressOf: (name: string, digest: string) => string;
  /** The addresses to which relative imports of a module of the site resolve. */
  readonly importedAs: (name: string) => readonly string[];
}

export interface Site {
  readonly page: Page;
  /** The files by address. */
  readonly files: ReadonlyMap<string, StaticFile>;
}

const OWN = new URL('../console/', import.meta.url);

interface Source {
  readonly name: string;
  readonly from: string;
  readonly as: readonly string[];
  readonly end?: string;
}

/** Text that turns a script into a module. */
const exportOf = (variable: string | undefined): string => (variable === undefined ? '' : `\nexport default ${variable};\n`);

export async function siteOf(parts: SiteParts): Promise<Site> {
  const { own, packages, packageStyles = {}, scripts = {}, main, isFirst, addressOf, importedAs } = parts;
  const packageFile = (from: string): string => fileURLToPath(import.meta.resolve(from));
  const sources = [
    ...own.map((name) => ({ name, from: fileURLToPath(new URL(name, OWN)), as: importedAs(name) })),
    ...Object.entries(packages).map(([name, from]) => ({
      name: `lib/${name}.js`,
      from: packageFile(from),
      as: [name],
      end: exportOf(scripts[name]),
    })),
    ...Object.entries(packageStyles).map(([name, from]) => ({ name: `lib/${name}`, from: packageFile(from), as: [] })),
  ];
  const read = await Promise.all(
    sources.map(async ({ name, from, as, end }: Source) => {
      const { digest, file } = await staticFile(name, from, end);
      return { name, as, file, path: addressOf(name, digest) };
    }),
  );
  const modules = read.filter(({ name }) => name.endsWith('.js'));
  const page = sitePage({
    ...parts,
    imports: Object.fromEntries(modules.flatMap(({ as, path }) => as.map((name) => [name, path]))),
    styles: read.flatMap(({ name, path }) => (name.endsWith('.css') ? [path] : [])),
    main: modules.find(({ name }) => name === main)?.path ?? '',
    preloaded: modules.flatMap(({ name, path }) => (isFirst(name) ? [path] : [])),
  });
  return { page, files: new Map(read.map(({ path, file }) => [path, file])) };
}
