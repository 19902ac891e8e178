/**
 * The one name of each place that data comes from or goes to. Lineage of different runs is joined by equality
 * of these names.
 */
import { decodeNames, defaultDatabase, defaultSchema } from '../../sql/tokens/names.ts';

/** A name for each kind of place. */
export const datasetNames = {
  /**
   * `database.schema.table`, in lower case because the warehouse ignores case. A part with a dot or a quote is
   * in double quotes.
   *
   * @param path the names as they stand in SQL that was sent to the embedded warehouse
   */
  warehouse(path: readonly string[]): string {
    const [table = '', schema = defaultSchema, catalog] = path.toReversed();
    const [first = '', second] = schema.split('.');
    const places = second === undefined ? [defaultDatabase, removeMark(first)] : [first, second];
    const parts =
      catalog !== undefined && systemCatalogs.has(catalog.toLowerCase()) ? [catalog, schema] : places;
    return [...parts.map(decodeNames), table].map((part) => quoteIfNeeded(part.toLowerCase())).join('.');
  },
  /** The same of a warehouse that is reached over the network, in the case that the warehouse keeps. */
  served: (path: readonly string[]): string => path.map(quoteIfNeeded).join('.'),
  /** The path of a file, without a slash before it. */
  file: (path: string): string => path.replace(/^\/+/, ''), // bounded: the start of one path
  /** By the naming of OpenLineage, such as `s3://bucket` and `wasbs://container@account.blob.core.windows.net`. */
  object: (store: string, key: string): string => `${store}/${key}`,
  /** The name of a connector profile and of its endpoint. */
  api: (profile: string, endpoint: string): string => `${profile}/${endpoint}`,
};

const systemCatalogs = new Set(['temp', 'system']);

/** A schema with the name of the environment's catalog has a mark behind it. */
const removeMark = (schema: string) => (schema.endsWith('%') ? schema.slice(0, -1) : schema);

const quoteIfNeeded = (part: string) => (/[."]/.test(part) ? `"${part.replaceAll('"', '""')}"` : part);

/** Tables that describe the warehouse itself. */
export function isSystemTable(path: readonly string[]): boolean {
  const [, schema = '', catalog = ''] = path.toReversed();
  return (
    ['information_schema', 'pg_catalog'].includes(schema.toLowerCase()) || catalog.toLowerCase() === 'system'
  );
}
