/** Numbers of served warehouses, which come as texts, as the warehouse port gives them. */

export type Value = string | number | boolean | null;

export const readInteger = (text: string): Value => {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : text;
};

/** More characters than a double has digits, with sign, point and zeros. */
const decimalLength = 40;

/** A number if a double represents it exactly, else its digits. */
export function readDecimal(text: string): Value {
  if (text.length > decimalLength) return text;
  let end = text.length;
  if (text.includes('.')) while (text[end - 1] === '0') end -= 1;
  return /^-?[\d.]+$/.test(text) && text.slice(0, end).replace(/\D/g, '').length <= 15 ? Number(text) : text;
}

export const readFloat = (text: string): Value => {
  const number = Number(text);
  return Number.isFinite(number) ? number : text;
};
