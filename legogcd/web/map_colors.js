/** Colors of the map, by theme: what fades, a scale from doubt to certainty, and hues for any number of categories. */

const DARK = "(prefers-color-scheme: dark)";
const STEPS = 12;

/** @returns {boolean} */
export const isDark = () => matchMedia(DARK).matches;

/** Calls back whenever the theme changes. */
export function onTheme(callback) {
  matchMedia(DARK).addEventListener("change", callback);
}

function hex(hue, saturation, lightness) {
  const spread = saturation * Math.min(lightness, 1 - lightness);
  const part = (offset) => {
    const k = (offset + hue * 12) % 12;
    const value = lightness - spread * Math.max(-1, Math.min(k - 3, 9 - k, 1));
    return Math.round(255 * value).toString(16).padStart(2, "0");
  };
  return `#${part(0)}${part(8)}${part(4)}`;
}

/** The color of category `number`: hues a golden angle apart, so that neighbors in number differ most. */
export function categoryColor(number) {
  const hue = (0.58 + number * 0.618033988749895) % 1;
  const band = Math.floor(number / 8) % 3;
  return hex(hue, [0.72, 0.5, 0.85][band], isDark() ? [0.62, 0.72, 0.52][band] : [0.45, 0.34, 0.55][band]);
}

/** What has no color of its own now. */
export const fadedColor = () => (isDark() ? "#3b4249" : "#c9ced3");

/** From doubt (orange) to certainty (blue); index with {@link shareStep}. */
export function shareColors() {
  const [from, to] = isDark() ? [[240, 128, 60], [90, 176, 232]] : [[213, 94, 0], [0, 95, 149]];
  const between = (share) => from.map((value, at) => Math.round(value + share * (to[at] - value)));
  return Array.from({ length: STEPS }, (_, step) =>
    `#${between(step / (STEPS - 1)).map((value) => value.toString(16).padStart(2, "0")).join("")}`);
}

/** Which step of {@link shareColors} a share from 0 to 1 has. */
export const shareStep = (share) => Math.max(0, Math.min(STEPS - 1, Math.floor(share * STEPS)));
