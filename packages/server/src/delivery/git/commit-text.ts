/** Reads commit objects. Hostile ones are read too: what is missing is empty, what is no date is 1970. */
import type { Commit, Person } from './git-repository.ts';

const longestDate = 8_640_000_000_000;

export function parseCommit(commitId: string, content: Buffer): Commit {
  const text = content.toString('utf8').replaceAll('\0', '\ufffd');
  const end = text.indexOf('\n\n');
  const head = end < 0 ? text : text.slice(0, end);
  const lines = head.split('\n');
  const values = (key: string) =>
    lines.filter((line) => line.startsWith(`${key} `)).map((line) => line.slice(key.length + 1));
  return {
    commitId,
    treeId: values('tree')[0] ?? '',
    parentIds: values('parent'),
    author: parsePerson(values('author')[0] ?? ''),
    committer: parsePerson(values('committer')[0] ?? ''),
    message: end < 0 ? '' : text.slice(end + 2),
  };
}

/** `Name <email> 1700000000 +0200` */
function parsePerson(line: string): Person {
  const open = line.indexOf('<');
  const close = line.indexOf('>', open);
  if (open < 0 || close < 0) return { name: line, email: '', at: new Date(0) };
  const seconds = Number(/^ (-?\d+)/.exec(line.slice(close + 1))?.[1] ?? 0);
  const isDate = Number.isFinite(seconds) && Math.abs(seconds) <= longestDate / 1_000;
  return {
    name: line.slice(0, open).replace(/ $/, ''),
    email: line.slice(open + 1, close),
    at: new Date(isDate ? seconds * 1_000 : 0),
  };
}
