"""The models that pages call my.models."""

from decimal import Decimal

from pydantic import BaseModel


class Invoice(BaseModel):
    """What is asked for."""

    number: str
    total: Decimal | None
