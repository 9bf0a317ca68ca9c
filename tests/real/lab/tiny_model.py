"""Makes a Qwen3 of two layers with random weights' worth of config, and a tokenizer: run by the engine's own Python.

vLLM fills in the weights itself (`--load-format dummy`), so only a config and a tokenizer are written. What the model
says is noise; how it is served is not. It practically never samples `</think>`, so without a budget everything that it
generates is reasoning, and with `thinking_token_budget` the engine closes the thinking at the budget.
"""

import sys
import sysconfig
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config

VOCABULARY = 4096
CONTEXT_TOKENS = 8192
END, PAD, START = "<|im_end|>", "<|endoftext|>", "<|im_start|>"

# The template opens the thinking for the model, as the current reasoning models' templates do. vLLM enforces a budget
# only on thinking that the prompt opened: without this <think>, the parameter would be taken and have no effect.
TEMPLATE = """\
{%- for message in messages -%}
{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{ '<|im_start|>assistant\n<think>\n' }}
{%- if enable_thinking is defined and not enable_thinking -%}
{{ '\n</think>\n\n' }}
{%- endif -%}
{%- endif -%}
"""


def tokenizer() -> PreTrainedTokenizerFast:
    """Byte-level BPE, trained on the first files of the standard library: some text that every machine has."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[PAD, START, END, "<think>", "</think>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    text = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))[:100]
    bpe.train([str(path) for path in text], trainer)
    made = PreTrainedTokenizerFast(
        tokenizer_object=bpe, eos_token=END, pad_token=PAD, additional_special_tokens=[START]
    )
    made.chat_template = TEMPLATE
    return made


def config(made: PreTrainedTokenizerFast) -> Qwen3Config:
    """As small as it gets: vLLM's attention on CPU takes head sizes from 32 up."""
    return Qwen3Config(
        architectures=["Qwen3ForCausalLM"],
        vocab_size=len(made),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=64,
        max_position_embeddings=CONTEXT_TOKENS,
        tie_word_embeddings=False,
        eos_token_id=made.eos_token_id,
        pad_token_id=made.pad_token_id,
    )


if __name__ == "__main__":
    folder = sys.argv[1]
    built_tokenizer = tokenizer()
    built_tokenizer.save_pretrained(folder)
    config(built_tokenizer).save_pretrained(folder)
