/**
 * Finds the regular expressions of a source file: literals, `new RegExp` of constants, the templates of
 * `escapedPattern`, and members named `pattern` of JSON Schemas.
 */
import { type Node, parseSync, Visitor } from 'oxc-parser';

export interface PatternUse {
  source: string;
  flags: string;
  /** `packages/server/src/main/server.ts:12` */
  place: string;
  /** What `// bounded: …` on its line or the line above says. */
  bound: string | undefined;
  /** What `// not SQL: …` there says. */
  reads?: string | undefined;
}

export interface SourcePatterns {
  uses: PatternUse[];
  /** One sentence for each pattern that cannot be judged. */
  faults: string[];
}

/** They make patterns of escaped text, and of schemas, whose patterns are judged by themselves. */
const COMPILERS = ['packages/contract/src/escaped-pattern.ts', 'packages/server/src/kernel/http/faults.ts'];
/** What stands for the words of `escapedPattern`: any escaped text may be between the parts, also none. */
const SAMPLE_WORDS = ['', 'x'];
const BOUND = /^\s*bounded: (.*\d.*)$/;
const READS = /^\s*not SQL: (.*)$/;

export function readPatterns(path: string, text: string): SourcePatterns {
  const { program, comments, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
  const uses: PatternUse[] = [];
  const faults: string[] = [];
  const constants = new Map<string, string>();
  let functions = 0;

  const lineOf = (offset: number) => text.slice(0, offset).split('\n').length;
  const bounds = new Map<number, string>();
  const readings = new Map<number, string>();
  for (const { value, end } of comments) {
    const words = BOUND.exec(value)?.[1];
    if (words !== undefined) bounds.set(lineOf(end), words.trim());
    const reading = READS.exec(value)?.[1];
    if (reading !== undefined) readings.set(lineOf(end), reading.trim());
  }
  const add = (node: Node, source: string, flags: string) => {
    const line = lineOf(node.start);
    const bound = bounds.get(line) ?? bounds.get(line - 1);
    const reads = readings.get(line) ?? readings.get(line - 1);
    uses.push({ source: source === '' ? '(?:)' : source, flags, place: `${path}:${line}`, bound, reads });
  };
  const refuse = (node: Node, reason: string) => faults.push(`${path}:${lineOf(node.start)} ${reason}`);

  /** The text of a constant. Names count only outside of functions, where none hides another. */
  const fold = (node: Node | null | undefined): string | undefined => {
    switch (node?.type) {
      case 'Literal':
        return typeof node.value === 'string' ? node.value : undefined;
      case 'TemplateLiteral':
        return foldTemplate(node, 'cooked');
      case 'TaggedTemplateExpression':
        return text.slice(node.tag.start, node.tag.end) === 'String.raw'
          ? foldTemplate(node.quasi, 'raw')
          : undefined;
      case 'BinaryExpression': {
        const [left, right] = [fold(node.left), fold(node.right)];
        return node.operator === '+' && left !== undefined && right !== undefined ? left + right : undefined;
      }
      case 'MemberExpression':
        return node.property.type === 'Identifier' && node.property.name === 'source'
          ? node.object.type === 'Literal' && 'regex' in node.object
            ? node.object.regex?.pattern
            : functions === 0 && node.object.type === 'Identifier'
              ? constants.get(`${node.object.name}.source`)
              : undefined
          : undefined;
      case 'Identifier':
        return functions === 0 ? constants.get(node.name) : undefined;
      default:
        return undefined;
    }
  };
  const foldTemplate = (
    { quasis, expressions }: Node & { type: 'TemplateLiteral' },
    form: 'raw' | 'cooked',
  ) => {
    let whole = quasis[0]?.value[form] ?? '';
    for (const [index, expression] of expressions.entries()) {
      const value = fold(expression);
      if (value === undefined) return undefined;
      whole += value + (quasis[index + 1]?.value[form] ?? '');
    }
    return whole;
  };

  const visitConstruction = (node: Node & { type: 'NewExpression' | 'CallExpression' }) => {
    if (node.callee.type !== 'Identifier' || node.callee.name !== 'RegExp') return;
    const [pattern, flags] = node.arguments;
    if (pattern?.type === 'Literal' && 'regex' in pattern && flags === undefined) return;
    const [source, letters] = [fold(pattern), flags === undefined ? '' : fold(flags)];
    if (source !== undefined && letters !== undefined) add(node, source, letters);
    else if (!COMPILERS.includes(path))
      refuse(node, 'makes a RegExp of what is no constant: write a literal, or use escapedPattern');
  };
  const enter = () => {
    functions += 1;
  };
  const leave = () => {
    functions -= 1;
  };
  new Visitor({
    FunctionDeclaration: enter,
    'FunctionDeclaration:exit': leave,
    FunctionExpression: enter,
    'FunctionExpression:exit': leave,
    ArrowFunctionExpression: enter,
    'ArrowFunctionExpression:exit': leave,
    'VariableDeclaration:exit'({ kind, declarations }) {
      if (kind !== 'const' || functions > 0) return;
      for (const { id, init } of declarations) {
        if (id.type !== 'Identifier') continue;
        const value = fold(init);
        if (value !== undefined) constants.set(id.name, value);
        if (init?.type === 'Literal' && 'regex' in init)
          constants.set(`${id.name}.source`, init.regex?.pattern ?? '');
      }
    },
    Literal(node) {
      if ('regex' in node && node.regex) add(node, node.regex.pattern, node.regex.flags);
    },
    NewExpression: visitConstruction,
    CallExpression: visitConstruction,
    TaggedTemplateExpression(node) {
      const tag = node.tag;
      const callee = tag.type === 'CallExpression' ? tag.callee : tag;
      if (callee.type !== 'Identifier' || callee.name !== 'escapedPattern') return;
      const flags = tag.type === 'CallExpression' ? fold(tag.arguments[0]) : undefined;
      if (flags === undefined) {
        refuse(node, "calls escapedPattern without constant flags: write escapedPattern('u')`…`");
        return;
      }
      const parts = node.quasi.quasis.map(({ value }) => value.raw);
      for (const word of SAMPLE_WORDS) add(node, parts.join(word), flags);
    },
    Property(node) {
      const { key, value } = node;
      if (key.type !== 'Identifier' || key.name !== 'pattern') return;
      const source = fold(value);
      // The validator of schemas compiles with this flag.
      if (source !== undefined && isPattern(source, 'u')) add(node, source, 'u');
    },
  }).visit(program);
  return { uses, faults };
}

function isPattern(source: string, flags: string): boolean {
  try {
    new RegExp(source, flags);
    return true;
  } catch {
    return false;
  }
}
