// Methods as numbers: for each token the parameter at which it starts or stops being rejected. No rule is known here.

const REJECTS = {
  "critical < parameter": (critical, parameter) => critical < parameter,
  "critical <= parameter": (critical, parameter) => critical <= parameter,
  "parameter <= critical": (critical, parameter) => parameter <= critical,
};

// One letter for each token: accepted, rejected, or undecided, where only an interval is known.
export const ACCEPTED = "a";
export const REJECTED = "r";
export const UNDECIDED = "u";

export class Method {
  constructor(record) {
    Object.assign(this, record);
    this.rejects = REJECTS[record.comparison];
    this.isLogarithmic = record.scale !== "linear";
  }

  // The last position of its slider. Positions are indices of the grid, and fractions between them.
  get end() {
    return this.parameters.length - 1;
  }

  parameterAt(position) {
    const index = Math.min(Math.floor(position), this.end - 1);
    const value = between(this.parameters[index], this.parameters[index + 1], position - index, this.isLogarithmic);
    return this.scale === "whole" ? Math.round(value) : value;
  }

  positionOf(parameter) {
    const grid = this.parameters;
    if (parameter <= grid[0]) return 0;
    if (parameter >= grid[this.end]) return this.end;
    let index = 0;
    while (grid[index + 1] <= parameter) index += 1;
    return index + share(grid[index], grid[index + 1], parameter, this.isLogarithmic);
  }

  // Where its line is drawn; exact at points of the grid. Null for a rule without a threshold.
  thresholdAt(parameter) {
    if (this.thresholds === null) return null;
    const position = this.positionOf(parameter);
    const index = Math.min(Math.floor(position), this.end - 1);
    const [low, high] = [this.thresholds[index], this.thresholds[index + 1]];
    return between(low, high, position - index, low > 0 && high > 0);
  }

  verdicts(parameter, constraints) {
    const { lower, upper = lower } = this.critical[this.basisAware ? constraints : ""];
    let letters = "";
    for (let token = 0; token < lower.length; token += 1) {
      if (this.rejects(upper[token], parameter)) letters += REJECTED;
      else letters += this.rejects(lower[token], parameter) ? UNDECIDED : ACCEPTED;
    }
    return letters;
  }

  // The critical parameter of a token, in words.
  limit(token, constraints) {
    const { lower, upper = lower } = this.critical[this.basisAware ? constraints : ""];
    const [least, most] = [this.parameters[0], this.parameters[this.end]];
    const rises = this.comparison !== "parameter <= critical";
    const [sure, possible] = [upper[token], lower[token]];
    if (rises && possible >= most) return "at no parameter";
    if (!rises && possible < least) return "at no parameter";
    if (rises && sure < least) return "at every parameter";
    if (!rises && sure >= most) return "at every parameter";
    const bounds = Math.abs(sure - possible) <= 1e-4 * Math.abs(sure) ? shown(sure) : `${shown(possible)} to ${shown(sure)}`;
    return rises ? `from ${bounds} on` : `up to ${bounds}`;
  }
}

function between(low, high, part, isLogarithmic) {
  if (part === 0) return low;
  return isLogarithmic ? low * (high / low) ** part : low + (high - low) * part;
}

function share(low, high, value, isLogarithmic) {
  return isLogarithmic ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
}

// A number in three digits, as short as it can be.
export function shown(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1000 || (Number.isInteger(value) && size < 1e6)) return Math.round(value).toLocaleString("en");
  return size >= 1e-4 ? String(Number(value.toPrecision(3))) : value.toExponential(1);
}
