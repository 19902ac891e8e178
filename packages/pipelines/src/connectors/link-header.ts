/** Reads the `Link` header (RFC 8288). */

const link = /<([^>]*)>((?:\s*;\s*[\w!#$&+.^`|~*-]+\s*(?:=\s*(?:"(?:[^"\\]|\\.)*"|[^\s";,]+))?)*)/g;
const relation = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s";,]+))/i;

/** The target of the first link with the relation. */
export function findLink(header: string, wanted: string): string | undefined {
  for (const [, target = '', parameters = ''] of header.slice(0, 65_536).matchAll(link)) {
    const [, quoted, plain] = relation.exec(parameters) ?? [];
    const relations = (quoted ?? plain ?? '').toLowerCase().split(/\s+/);
    if (relations.includes(wanted.toLowerCase())) return target;
  }
  return undefined;
}
